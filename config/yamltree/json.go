package yamltree

import "math"

// JSON returns a node as encoding/json would decode it: numbers as float64, quoted scalars as
// strings. A value that JSON cannot express is reported, and becomes nil.
func (r *Report) JSON(n *Node) any {
	switch n.Kind {
	case Mapping:
		o := make(map[string]any, len(n.Entries))
		for _, e := range n.Entries {
			o[e.Key.Text] = r.JSON(e.Value)
		}
		return o
	case List:
		all := make([]any, len(n.Items))
		for i, item := range n.Items {
			all[i] = r.JSON(item)
		}
		return all
	case Scalar:
		return r.scalarJSON(n)
	case Null:
	}
	return nil
}

func (r *Report) scalarJSON(n *Node) any {
	switch v := n.typed.(type) {
	case string, bool:
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	r.Fault(n, Quote(n.Text)+" cannot be written as JSON", "a string, a number, true, false, a list or a mapping")
	return nil
}
