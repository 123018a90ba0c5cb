"""Sessions: the token that names one, the rules that scope it, the store that holds what it remembers."""
