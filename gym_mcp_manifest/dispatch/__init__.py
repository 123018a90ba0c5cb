"""One call: a tool, its arguments and its session in, what the plain HTTP route would have answered out."""
