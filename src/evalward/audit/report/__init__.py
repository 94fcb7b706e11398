"""The report for those who sign for a deployment: the facts of a period, as HTML and as Markdown."""
