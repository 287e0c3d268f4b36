# Debian's az 2.45 calls a newer library than it was made for, and all its commands
# about roles end by an AttributeError before they call anybody: what it knows as
# "config" is "_config" there. Python reads this file when az starts for a test of
# these commands. Nothing of what is sent or read is changed.
from azure.mgmt.authorization.v2018_01_01_preview.operations import RoleDefinitionsOperations
from azure.mgmt.authorization.v2020_04_01_preview.operations import RoleAssignmentsOperations

for operations in (RoleDefinitionsOperations, RoleAssignmentsOperations):
    if not hasattr(operations, 'config'):
        operations.config = property(lambda self: self._config)
