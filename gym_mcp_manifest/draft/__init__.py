"""A first manifest for a live app: what it must say to boot and to expose what the defaults would."""
