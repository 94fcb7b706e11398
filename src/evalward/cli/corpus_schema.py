"""``evalward corpus schema``: the format of a case, for editors and authors."""

import json

import typer

from evalward.corpus.corpus_case import Case


def corpus_schema() -> None:
    """Print the JSON Schema (draft 2020-12) of a file of cases.

    \b
    Example:
      evalward corpus schema > cases.schema.json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    case = Case.model_json_schema(ref_template="#/$defs/{model}")
    definitions = {**case.pop("$defs", {}), "Case": case}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Evalward cases",
        "type": "array",
        "items": {"$ref": "#/$defs/Case"},
        "$defs": definitions,
    }
    typer.echo(json.dumps(schema, indent=2))
