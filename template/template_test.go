package template_test

import (
	"time"

	"portico/template"
	"portico/template/document"
	"portico/template/expr"
)

const zero = "00000000-0000-0000-0000-000000000000"

// input is a template in group template, at a fixed time.
func input(root *document.Node) template.Input {
	return template.Input{Template: root, Name: "main", Scope: expr.Scope{Tenant: zero, Subscription: zero, Group: "template"}, Location: "westus",
		Now:     time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		NewGUID: func() string { return "5b1f4e0e-9a4b-4f4c-8a57-0d3ddbb3c1a2" }}
}
