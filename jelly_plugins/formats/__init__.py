"""RDF formats other than Jelly: their names, reading them, and conversion between all of them."""
