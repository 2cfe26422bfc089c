"""What several folders of selftests share: values, stand-ins, and programs that tests start."""
