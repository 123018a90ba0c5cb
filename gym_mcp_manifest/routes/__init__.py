"""The live FastAPI app as data: its routes as they are served, their bindings and its middleware."""
