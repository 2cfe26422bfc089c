"""Reports made from the records: terminal, HTML, JUnit, Allure, plots."""
