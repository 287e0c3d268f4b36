package function

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"portico/template/expr"
)

func numberFunctions() []row {
	left, right := param("left", expr.Int), param("right", expr.Int)
	return []row{
		function("add", "The sum of two integers.", 2, 2, calculate(add), left, right),
		function("div", "The quotient of two integers, without its fraction.", 2, 2, calculate(div), left, right),
		function("float", "The floating-point value of a string or number.", 1, 1, toFloat, param("value", expr.String|expr.Number)),
		function("int", "The integer value of a string or number; halves are rounded to the even neighbour.",
			1, 1, toInt, param("value", expr.String|expr.Number)),
		function("mod", "The remainder of a division, with the sign of the dividend.", 2, 2, calculate(mod), left, right),
		function("mul", "The product of two integers.", 2, 2, calculate(mul), left, right),
		function("sub", "The difference of two integers.", 2, 2, calculate(sub), left, right),
	}
}

// calculate returns a function of two integers that rejects results outside of 64 bits.
func calculate(operation func(a, b int64) (result int64, ok bool)) call {
	return func(_ *expr.Call, args []expr.Value) (expr.Value, error) {
		result, ok := operation(args[0].Int(), args[1].Int())
		if !ok {
			return expr.Value{}, expr.Errorf("the result is no integer of 64 bits")
		}
		return expr.IntOf(result), nil
	}
}

func add(a, b int64) (result int64, ok bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

func sub(a, b int64) (result int64, ok bool) {
	difference := a - b
	return difference, (difference < a) == (b > 0)
}

func mul(a, b int64) (result int64, ok bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if (a < 0) != (b < 0) {
		return -int64(low), high == 0 && low <= 1<<63
	}
	return int64(low), high == 0 && low < 1<<63
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func div(a, b int64) (result int64, ok bool) {
	if b == 0 || (a == math.MinInt64 && b == -1) {
		return 0, false
	}
	return a / b, true
}

func mod(a, b int64) (result int64, ok bool) {
	if b == 0 {
		return 0, false
	}
	return a % b, true
}

func toInt(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	v := args[0]
	switch {
	case v.Is(expr.Int):
		return v, nil
	case v.Is(expr.Float):
		rounded := math.RoundToEven(v.Float())
		if !(math.Abs(rounded) < 1<<63) { // also true for NaN
			return expr.Value{}, expr.Errorf("the number is no integer of 64 bits")
		}
		return expr.IntOf(int64(rounded)), nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v.Text()), 10, 64)
	if err != nil {
		return expr.Value{}, expr.Errorf("cannot convert provided value to integer value")
	}
	return expr.IntOf(n), nil
}

func toFloat(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	if args[0].Is(expr.Number) {
		return expr.FloatOf(args[0].Float()), nil
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(args[0].Text()), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return expr.Value{}, expr.Errorf("cannot convert provided value to float value")
	}
	return expr.FloatOf(f), nil
}
