"""The certificate of a run: what people sign. Made from the record, for paper and for a screen."""
