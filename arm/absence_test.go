package arm

import "testing"

func TestSaysAbsent(t *testing.T) {
	for body, want := range map[string]bool{
		`{"error":{"code":"ResourceNotFound","message":"The Resource 'x' was not found."}}`:               true,
		`{"error":{"code":"resourcenotfound"}}`:                                                           true,
		`{"error":{"code":"ParentResourceNotFound","message":"Parent resource 'p' not found."}}`:          true,
		`{"error":{"code":"VaultNotFound"}}`:                                                              true,
		`{"error":{"code":"ResourceDoesNotExist"}}`:                                                       true,
		`{"error":{"code":"NotFound","message":"VM-1 was not found"}}`:                                    true,
		`{"error":{"code":"NotFound","target":"/subscriptions/s/resourceGroups/g/providers/N/vms/vm-1"}}`: true,
		`{"error":{"code":"NotFound","message":"no such page"}}`:                                          false,
		`{"error":{"code":"SubscriptionNotFound","message":"vm-1"}}`:                                      false,
		`{"error":{"code":"ResourceGroupNotFound"}}`:                                                      false,
		`{"error":{"code":"InvalidResourceType"}}`:                                                        false,
		`{"error":{"code":"NoRegisteredProviderFound"}}`:                                                  false,
		`{"error":{"code":"ResourceTypeNotFound"}}`:                                                       false,
		`{"error":{"code":"HttpResourceNotFound"}}`:                                                       false,
		`{"error":{"code":404}}`:                                                                          false,
		`{"error":"ResourceNotFound"}`:                                                                    false,
		`{"code":"ResourceNotFound"}`:                                                                     false,
		`<html>ResourceNotFound</html>`:                                                                   false,
		``:                                                                                                false,
	} {
		if got := ReportsAbsence([]byte(body), "/subscriptions/s/resourceGroups/g/providers/N/vms/vm-1"); got != want {
			t.Errorf("ReportsAbsence(%s) = %t, want %t", body, got, want)
		}
	}
}
