"""Findings and plans as text and JSON; knows nothing of how they came about."""
