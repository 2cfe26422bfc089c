"""Values, errors, units, names and redaction: what every other folder imports."""
