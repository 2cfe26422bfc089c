"""What people write: hostfiles and threshold files, and the schemas that they obey."""
