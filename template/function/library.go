// Package function is the library of the template language's functions, as rows: a file
// per family, a row per function.
//
// Not here are the functions that know the template or where it is deployed (parameters,
// reference, resourceGroup), and those that do not look at all of their arguments (if,
// lambda), which are the evaluation's own.
package function

import (
	"strings"
	"sync"

	"portico/template/expr"
)

// row is a function with the sentence that the documentation has of it.
type row struct {
	expr.Function
	says string
}

type call func(c *expr.Call, args []expr.Value) (expr.Value, error)

// many is any number of arguments.
const many = -1

func function(name, says string, least, most int, call call, params ...expr.Param) row {
	return row{expr.Function{Name: name, Params: params, Min: least, Max: most, Call: call}, says}
}

// carries marks a function that passes its arguments on without looking into them. Its
// result must be a secret where it holds what came from one: the evaluation does not care
// for that.
func (r row) carries() row {
	r.Carries = true
	return r
}

// costs gives a function steps besides those of its arguments.
func (r row) costs(steps int) row {
	r.Steps = steps
	return r
}

func (r row) defaultsOnly() row {
	r.DefaultsOnly = true
	return r
}

func param(name string, kinds expr.Kind) expr.Param { return expr.Param{Name: name, Kinds: kinds} }

// held is a parameter whose texts alone are walked through, and shut one of which nothing is:
// what a function takes of its containers, it charges itself.
func held(name string, kinds expr.Kind) expr.Param {
	return expr.Param{Name: name, Kinds: kinds, Walk: expr.WalksText}
}

func shut(name string, kinds expr.Kind) expr.Param {
	return expr.Param{Name: name, Kinds: kinds, Walk: expr.WalksNone}
}

// family is a group of functions, as the documentation shows them.
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

// Find is a function by its name, whose casing does not matter; nil where there is none.
func Find(name string) *expr.Function { return library().functions[strings.ToLower(name)] }

// Names lists all functions. The caller must not change it.
func Names() []string { return library().names }
