"""What several folders of selftests use: values, stand-ins, and programs that tests start."""
