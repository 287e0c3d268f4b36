package function

import (
	"sort"

	"portico/template/expr"
)

func lambdaFunctions() []row {
	list := textParam("array", expr.Array)
	lambda := func(name string) expr.Param { return param(name, expr.Lambda) }
	return []row{
		function("filter", "The elements of an array for which a lambda (element, index) is true.", 2, 2, filter, list, lambda("lambda")),
		function("groupBy", "An object of arrays: the elements grouped by the key that a lambda returns for each. A further lambda can map the "+
			"elements.",
			2, 3, groupBy, list, lambda("key"), lambda("value")),
		function("map", "The results of a lambda (element, index) for the elements of an array.", 2, 2, mapArray, list, lambda("lambda")).passesThrough(),
		function("mapValues", "An object with the results of a lambda for the values of its members.",
			2, 2, mapValues, textParam("object", expr.Object), lambda("lambda")).passesThrough(),
		function("reduce", "The last result of a lambda (result so far, element, index) that is called for each element of an array, beginning "+
			"with an initial value.",
			3, 3, reduce, list, unwalkedParam("initial", expr.Any), lambda("lambda")),
		function("sort", "An array sorted so that a lambda (one, other) is true if one comes first.", 2, 2, sortArray, list, lambda("lambda")),
		function("toObject", "An object of the elements by the key that a lambda returns for each. A further lambda can map the elements.",
			2, 3, toObject, list, lambda("key"), lambda("value")),
	}
}

// applyLambda calls a lambda with the arguments, and with the index if it has a parameter for it.
func applyLambda(c *expr.Call, lambda expr.Value, index int, args ...expr.Value) (expr.Value, error) {
	if len(lambda.Closure().Params) > len(args) {
		args = append(args, expr.IntOf(int64(index)))
	}
	return c.Invoke(lambda, args...)
}

func filter(c *expr.Call, args []expr.Value) (expr.Value, error) {
	var kept []expr.Value
	for i, e := range elements(args[0]) {
		keep, err := applyLambda(c, args[1], i, e)
		if err != nil {
			return expr.Value{}, err
		}
		if !keep.Is(expr.Bool) {
			return expr.Value{}, expr.Errorf("the lambda must return a boolean, and returns a value of kind %s", keep.Kind())
		}
		if keep.Bool() {
			kept = append(kept, e)
		}
	}
	return expr.ArrayOf(kept...), c.Elements(len(kept))
}

func mapArray(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if err := c.Elements(args[0].Len()); err != nil {
		return expr.Value{}, err
	}
	list := subArray(args[0], 0, args[0].Len())
	for i, e := range list {
		var err error
		if list[i], err = applyLambda(c, args[1], i, e); err != nil {
			return expr.Value{}, err
		}
	}
	return expr.ArrayOf(list...), nil
}

func mapValues(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if err := c.Object(args[0].Members()); err != nil {
		return expr.Value{}, err
	}
	members := args[0].Parts()
	for i := range members {
		var err error
		if members[i].Value, err = c.Invoke(args[1], members[i].Value); err != nil {
			return expr.Value{}, err
		}
	}
	return expr.ObjectOf(members...), nil
}

func reduce(c *expr.Call, args []expr.Value) (expr.Value, error) {
	so := args[1]
	for i, e := range elements(args[0]) {
		var err error
		if so, err = applyLambda(c, args[2], i, so, e); err != nil {
			return expr.Value{}, err
		}
	}
	return so, nil
}

func sortArray(c *expr.Call, args []expr.Value) (expr.Value, error) {
	if err := c.Elements(args[0].Len()); err != nil {
		return expr.Value{}, err
	}
	list := subArray(args[0], 0, args[0].Len())
	var fault error
	sort.SliceStable(list, func(i, j int) bool {
		if fault != nil {
			return false
		}
		before, err := c.Invoke(args[1], list[i], list[j])
		if err == nil && !before.Is(expr.Bool) {
			err = expr.Errorf("the lambda must return a boolean, and returns a value of kind %s", before.Kind())
		}
		fault = err
		return before.Bool()
	})
	return expr.ArrayOf(list...), fault
}

// forEachKeyed calls add for each element, with the key and value that the lambdas return.
func forEachKeyed(c *expr.Call, args []expr.Value, add func(name string, v expr.Value)) error {
	if err := c.Elements(args[0].Len()); err != nil {
		return err
	}
	for _, e := range elements(args[0]) {
		name, err := c.Invoke(args[1], e)
		if err != nil {
			return err
		}
		if !name.Is(expr.String) {
			return expr.Errorf("the lambda must return a key, a string, and returns a value of kind %s", name.Kind())
		}
		if err := c.Walk(name); err != nil {
			return err
		}
		if len(args) == 3 {
			if e, err = c.Invoke(args[2], e); err != nil {
				return err
			}
		}
		add(name.Text(), e)
	}
	return nil
}

func toObject(c *expr.Call, args []expr.Value) (expr.Value, error) {
	var members []expr.Member
	err := forEachKeyed(c, args, func(name string, v expr.Value) {
		members = append(members, expr.Member{Name: name, Value: v})
	})
	return expr.ObjectOf(members...), err
}

func groupBy(c *expr.Call, args []expr.Value) (expr.Value, error) {
	at := map[string]int{}
	var names []string
	var groups [][]expr.Value
	err := forEachKeyed(c, args, func(name string, v expr.Value) {
		folded := foldCase(name)
		i, ok := at[folded]
		if !ok {
			i = len(names)
			at[folded] = i
			names, groups = append(names, name), append(groups, nil)
		}
		groups[i] = append(groups[i], v)
	})
	members := make([]expr.Member, len(names))
	for i := range names {
		members[i] = expr.Member{Name: names[i], Value: expr.ArrayOf(groups[i]...)}
	}
	return expr.ObjectOf(members...), err
}
