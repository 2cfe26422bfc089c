"""Readers of the record: terminal, HTML, JUnit, Allure, plots."""
