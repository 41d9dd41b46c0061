"""rdflib's plugins, and what they do: load and dump of graphs and datasets, streams of them."""
