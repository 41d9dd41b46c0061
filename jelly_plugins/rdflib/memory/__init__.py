"""Direct access to the indices of rdflib's stores in memory, if these are as expected."""
