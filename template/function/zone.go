package function

import (
	"strings"

	"portico/template/expr"
)

// zoneFunctions returns the functions of zones. ARM numbers zones differently in each
// subscription. Here logical and physical zones have the same numbers: zone 1 of westus is
// westus-az1.
func zoneFunctions() []row {
	subscription, location := param("subscriptionId", expr.String), param("location", expr.String)
	return []row{
		function("toLogicalZone", "The logical zone of a physical one, such as `1` for `westus-az1`. The numbers are the same.",
			3, 3, forEachZone(logicalZone), subscription, location, param("physicalZone", expr.String)),
		function("toLogicalZones", "As toLogicalZone, for each zone of an array.",
			3, 3, forEachZone(logicalZone), subscription, location, param("physicalZones", expr.Array)),
		function("toPhysicalZone", "The physical zone of a logical one.",
			3, 3, forEachZone(physicalZone), subscription, location, param("logicalZone", expr.String)),
		function("toPhysicalZones", "As toPhysicalZone, for each zone of an array.",
			3, 3, forEachZone(physicalZone), subscription, location, param("logicalZones", expr.Array)),
	}
}

// forEachZone returns a function that applies of to one zone or to an array of zones.
func forEachZone(of func(location, zone string) (string, error)) call {
	return func(c *expr.Call, args []expr.Value) (expr.Value, error) {
		location := strings.ToLower(strings.ReplaceAll(args[1].Text(), " ", ""))
		one := func(zone expr.Value) (expr.Value, error) {
			if !zone.Is(expr.String) {
				return expr.Value{}, expr.Errorf("a zone is a string, and %s is given", zone.Kind())
			}
			if err := c.Bytes(len(location) + len(zone.Text())); err != nil {
				return expr.Value{}, err
			}
			text, err := of(location, zone.Text())
			return expr.StringOf(text), err
		}
		if args[2].Is(expr.String) {
			return one(args[2])
		}
		if err := c.Elements(args[2].Len()); err != nil {
			return expr.Value{}, err
		}
		zones := make([]expr.Value, args[2].Len())
		for i, zone := range args[2].Elements() {
			var err error
			if zones[i], err = one(zone); err != nil {
				return expr.Value{}, err
			}
		}
		return expr.ArrayOf(zones...), nil
	}
}

func logicalZone(location, zone string) (string, error) {
	number, ok := strings.CutPrefix(strings.ToLower(zone), location+"-az")
	if !ok || !isZone(number) {
		return "", expr.Errorf("a physical zone is its location's name, -az and a digit, such as westus-az1")
	}
	return number, nil
}

func physicalZone(location, zone string) (string, error) {
	if !isZone(zone) {
		return "", expr.Errorf("a logical zone is a digit from 1 on")
	}
	return location + "-az" + zone, nil
}

func isZone(number string) bool { return len(number) == 1 && number[0] >= '1' && number[0] <= '9' }
