"""Jelly-SPARQL: frames of query results to columns of terms and back."""
