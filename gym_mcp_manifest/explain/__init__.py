"""Answers about one thing of a target: why a route or tool is as it is, and where a value comes from."""
