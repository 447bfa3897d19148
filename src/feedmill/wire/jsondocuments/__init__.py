"""Documents as JSON: an array of objects, or one object a line. Source: docs/reference/feed-port.md, "Documents as JSON"."""
