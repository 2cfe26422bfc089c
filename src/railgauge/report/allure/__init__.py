"""Allure: one result for each item, made from its record, and the files of the run beside them."""
