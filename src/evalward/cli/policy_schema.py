"""``evalward policy schema``: the format of a policy file, for editors."""

import json

import typer

from evalward.policy import Policy


def policy_schema() -> None:
    """Print the JSON Schema (draft 2020-12) of a policy file.

    \b
    Example:
      evalward policy schema > policy.schema.json
    """  # noqa: D301 - \b is the help formatter's own mark, not an escape
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Policy.model_json_schema()}
    typer.echo(json.dumps(schema, indent=2))
