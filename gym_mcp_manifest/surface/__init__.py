"""The surface: what agents see of a server, written to a lock file and compared with it."""
