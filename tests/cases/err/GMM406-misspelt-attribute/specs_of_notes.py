SPECS = [{"name": "lookup", "description": "Look a term up."}]
