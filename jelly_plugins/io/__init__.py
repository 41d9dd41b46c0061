"""Files, pipes and URLs: sources, sinks, and whole streams of statements between them."""
