package function

import (
	"time"

	"portico/template/expr"
)

func dateFunctions() []row {
	format := param("format", expr.String)
	return []row{
		function("dateTimeAdd", "A date plus an ISO 8601 duration, in which a year has 365 days and a month 30. The result is in the given .NET "+
			"format, or in ISO 8601.",
			2, 3, dateTimeAdd, param("base", expr.String), param("duration", expr.String), format).withSteps(stepsOfDate),
		function("dateTimeFromEpoch", "The date that many seconds after the beginning of 1970.", 1, 1, dateTimeFromEpoch, param("seconds", expr.Int)),
		function("dateTimeToEpoch", "The number of seconds from the beginning of 1970 to a date.",
			1, 1, dateTimeToEpoch, param("date", expr.String)).withSteps(stepsOfDate),
		function("utcNow", "The start of the deployment, in the given .NET format, or as yyyyMMddTHHmmssZ.", 0, 1, utcNow, format).defaultsOnly(),
	}
}

func dateText(c *expr.Call, t time.Time, format string) (expr.Value, error) {
	if err := c.Bytes(20 * len(format)); err != nil { // the longest day or month name, per letter
		return expr.Value{}, err
	}
	text, err := formatDate(t, format)
	if err != nil {
		return expr.Value{}, expr.Errorf("the format is invalid: '%v'", err)
	}
	return expr.StringOf(text), nil
}

// stepsOfDate is the cost of trying all layouts.
const stepsOfDate = 12

func readDate(v expr.Value) (time.Time, error) {
	t, ok := parseDate(v.Text())
	if !ok {
		return time.Time{}, expr.Errorf("the text is no date of ISO 8601")
	}
	return t, nil
}

func dateTimeAdd(c *expr.Call, args []expr.Value) (expr.Value, error) {
	base, err := readDate(args[0])
	if err != nil {
		return expr.Value{}, err
	}
	days, rest, ok := parseDuration(args[1].Text())
	if !ok {
		return expr.Value{}, expr.Errorf("the text is no duration of ISO 8601")
	}
	sum, ok := addDuration(base, days, rest)
	if !ok {
		return expr.Value{}, expr.Errorf("the date lies outside of the years 1 to 9999")
	}
	if len(args) == 3 {
		return dateText(c, sum, args[2].Text())
	}
	return expr.StringOf(isoDate(sum)), nil
}

func dateTimeFromEpoch(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	const most = 1 << 40 // after the year 9999
	n := args[0].Int()
	if t := time.Unix(n, 0).UTC(); n > -most && n < most && inRange(t) {
		return expr.StringOf(isoDate(t)), nil
	}
	return expr.Value{}, expr.Errorf("the date lies outside of the years 1 to 9999")
}

func dateTimeToEpoch(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	t, err := readDate(args[0])
	return expr.IntOf(t.Unix()), err
}

func utcNow(c *expr.Call, args []expr.Value) (expr.Value, error) {
	format := "yyyyMMddTHHmmssZ"
	if len(args) == 1 {
		format = args[0].Text()
	}
	return dateText(c, c.Now.UTC(), format)
}
