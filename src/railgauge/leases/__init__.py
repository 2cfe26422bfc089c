"""One measurement at a time on a node: leases among workers, and on the nodes themselves."""
