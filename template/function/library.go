// Package function is the library of template functions: a file per family, a row per function.
//
// It does not contain the functions that depend on the template or its scope (parameters,
// reference, resourceGroup), which are in package template, and those that do not evaluate all
// their arguments (if, lambda), which are in package expr.
package function

import (
	"strings"
	"sync"

	"portico/template/expr"
)

// row is a function with its description for the documentation.
type row struct {
	expr.Function
	description string
}

type call func(c *expr.Call, args []expr.Value) (expr.Value, error)

// many means any number of arguments.
const many = -1

func function(name, says string, least, most int, call call, params ...expr.Param) row {
	return row{expr.Function{Name: name, Params: params, Min: least, Max: most, Call: call}, says}
}

// passesThrough marks a function that passes its arguments on without looking into them. The
// function must itself mark its result as a secret if it contains parts of one: the evaluation does
// not.
func (r row) passesThrough() row {
	r.PassesThrough = true
	return r
}

// withSteps sets the cost of a call, without its arguments.
func (r row) withSteps(steps int) row {
	r.Steps = steps
	return r
}

func (r row) defaultsOnly() row {
	r.DefaultsOnly = true
	return r
}

func param(name string, kinds expr.Kind) expr.Param { return expr.Param{Name: name, Kinds: kinds} }

// textParam declares a parameter whose strings are walked through, but not its containers: for
// these, the function charges itself.
func textParam(name string, kinds expr.Kind) expr.Param {
	return expr.Param{Name: name, Kinds: kinds, Walk: expr.WalksText}
}

func unwalkedParam(name string, kinds expr.Kind) expr.Param {
	return expr.Param{Name: name, Kinds: kinds, Walk: expr.WalksNone}
}

// family is a group of functions in the documentation.
type family struct {
	title string
	rows  []row
}

func families() []family {
	return []family{
		{"Arrays", arrayFunctions()},
		{"Objects", objectFunctions()},
		{"Lambdas", lambdaFunctions()},
		{"Logic and comparison", logicFunctions()},
		{"Numbers", numberFunctions()},
		{"Strings", stringFunctions()},
		{"Encodings and URIs", encodingFunctions()},
		{"Dates", dateFunctions()},
		{"Networks", networkFunctions()},
		{"Resource IDs", resourceFunctions()},
		{"Zones", zoneFunctions()},
	}
}

type table struct {
	functions map[string]*expr.Function // by lower-case name
	names     []string
}

var library = sync.OnceValue(func() table {
	t := table{functions: map[string]*expr.Function{}}
	for _, f := range families() {
		for i := range f.rows {
			row := &f.rows[i].Function
			t.functions[strings.ToLower(row.Name)] = row
			t.names = append(t.names, row.Name)
		}
	}
	return t
})

// Find returns a function by its name in any case, or nil.
func Find(name string) *expr.Function { return library().functions[strings.ToLower(name)] }

// Names returns the names of all functions. The caller must not change it.
func Names() []string { return library().names }
