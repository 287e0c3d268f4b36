package function

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

// The examples of .NET's documentation, in its invariant culture.
func TestNumberFormats(t *testing.T) {
	f := func(x float64) number { return number{isFloat: true, float: x} }
	i := func(n int64) number { return number{int: n} }
	for _, c := range []struct {
		number number
		format string
		want   string
	}{
		{i(5), "", "5"}, {f(1.5), "", "1.5"}, {f(1e20), "", "1E+20"}, {f(0.00001), "", "1E-05"}, {f(0.0001), "", "0.0001"},
		{f(-123.456), "G", "-123.456"}, {f(123.4546), "G4", "123.5"}, {f(-1.234567890e-25), "G", "-1.23456789E-25"}, {i(12345), "G2", "1.2E+04"},
		{i(1234), "D", "1234"}, {i(-1234), "D6", "-001234"}, {i(-9223372036854775808), "D", "-9223372036854775808"}, {i(7), "d3", "007"},
		{f(1052.0329112756), "E", "1.052033E+003"}, {f(-1052.0329112756), "e2", "-1.05e+003"}, {i(0), "E2", "0.00E+000"},
		{f(1234.567), "F", "1234.57"}, {i(1234), "F1", "1234.0"}, {f(-1234.56), "F4", "-1234.5600"}, {f(2.5), "F0", "3"}, {f(0.004), "F2", "0.00"}, {f(999.996), "F2", "1000.00"},
		{f(1234.567), "N", "1,234.57"}, {i(1234), "N1", "1,234.0"}, {f(-1234.56), "N3", "-1,234.560"}, {i(8175133), "N0", "8,175,133"}, {i(0), "N2", "0.00"}, {i(100), "n0", "100"},
		{i(1), "P", "100.00 %"}, {f(-0.39678), "P1", "-39.7 %"}, {f(123.456), "C2", "¤123.46"}, {f(-123.456), "C3", "(¤123.456)"},
		{f(123456789.12345678), "R", "123456789.12345678"},
		{i(255), "X", "FF"}, {i(-1), "x", "ffffffffffffffff"}, {i(255), "x4", "00ff"}, {i(5), "b8", "00000101"},
		{i(123), "00000", "00123"}, {f(1234.5678), "00000", "01235"}, {i(1234), "00", "1234"}, {i(0), "000", "000"}, {i(-5), "00", "-05"}, {f(-0.4), "00", "00"}, {f(0.5), "0", "1"}, {f(-99.5), "00", "-100"},
		{i(5), "E", "5.000000E+000"},
	} {
		if got, err := formatNumber(c.number, c.format); err != nil || got != c.want {
			t.Errorf("%v as %q is %q (%v), want %q", c.number, c.format, got, err, c.want)
		}
	}
	for _, c := range []struct {
		number number
		format string
	}{{f(1.5), "D"}, {f(1.5), "X"}, {i(1), "R"}, {i(1), "Q"}, {i(1), "F1000"}, {i(1), "F99999999999999999999"}} {
		if got, err := formatNumber(c.number, c.format); err == nil {
			t.Errorf("%v as %q is %q, want an error", c.number, c.format, got)
		}
	}
}

func TestDateFormats(t *testing.T) {
	at := time.Date(2019, 3, 5, 17, 53, 18, 123_456_700, time.UTC)
	for format, want := range map[string]string{
		"d": "03/05/2019", "M d": "3 5", "D": "Tuesday, 05 March 2019", "f": "Tuesday, 05 March 2019 17:53",
		"F": "Tuesday, 05 March 2019 17:53:18", "g": "03/05/2019 17:53", "G": "03/05/2019 17:53:18", "m": "March 05",
		"o": "2019-03-05T17:53:18.1234567Z", "r": "Tue, 05 Mar 2019 17:53:18 GMT", "s": "2019-03-05T17:53:18", "t": "17:53",
		"T": "17:53:18", "u": "2019-03-05 17:53:18Z", "U": "Tuesday, 05 March 2019 17:53:18", "y": "2019 March",
		"yyyyMMddTHHmmssZ": "20190305T175318Z", "yyyy-MM-dd": "2019-03-05", "%d": "5", "%M": "3", "dd/MM/yy hh:mm tt": "05/03/19 05:53 PM",
		"h:m:s t": "5:53:18 P", "ddd MMM": "Tue Mar", "fff": "123", "ss.FFFF": "18.1234", "zzz": "+00:00", "%z": "+0", "zz": "+00", "%K": "Z",
		"yyyyy": "02019", "%y": "19", `HH\h`: "17h", "'at' HH": "at 17", `"d"dd`: "d05", "gg": "A.D.", "": "",
	} {
		if got, err := formatDate(at, format); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", format, got, err, want)
		}
	}
	if got, _ := formatDate(at.Truncate(time.Second), "ss.FFF"); got != "18" {
		t.Errorf("no fraction is %q", got)
	}
	for _, format := range []string{"Q", "'open", `yyyy\`, "ffffffff", "yyyy%"} {
		if got, err := formatDate(at, format); err == nil {
			t.Errorf("%q is %q, want an error", format, got)
		}
	}
}

func TestDates(t *testing.T) {
	want := time.Date(2020, 4, 7, 14, 53, 14, 0, time.UTC)
	for _, text := range []string{"2020-04-07 14:53:14Z", "2020-04-07T14:53:14Z", "20200407T145314Z", "2020-04-07T16:53:14+02:00", "2020-04-07T14:53:14.000", "4/7/2020 2:53:14 PM", "04/07/2020 14:53:14", "Tue, 07 Apr 2020 14:53:14 GMT"} {
		if got, ok := parseDate(text); !ok || !got.Equal(want) {
			t.Errorf("%q is %v", text, got)
		}
	}
	for _, text := range []string{"", "yesterday", "2020-13-01", "0000-01-01"} {
		if got, ok := parseDate(text); ok {
			t.Errorf("%q is %v, want none", text, got)
		}
	}
}

func TestDurations(t *testing.T) {
	base := time.Date(2020, 4, 7, 14, 53, 14, 0, time.UTC)
	for text, want := range map[string]string{
		"P3Y": "2023-04-07T14:53:14Z", "-P9D": "2020-03-29T14:53:14Z", "PT1H": "2020-04-07T15:53:14Z", "P1Y": "2021-04-07T14:53:14Z",
		"P1M": "2020-05-07T14:53:14Z", "P1W": "2020-04-14T14:53:14Z", "P1Y2M3DT4H5M6.5S": "2021-06-09T18:58:20.5Z", "PT96H": "2020-04-11T14:53:14Z", "-PT0.25S": "2020-04-07T14:53:13.75Z",
	} {
		days, rest, ok := parseDuration(text)
		got, in := addDuration(base, days, rest)
		if !ok || !in || isoDate(got) != want {
			t.Errorf("%s leads to %s, want %s", text, isoDate(got), want)
		}
	}
	for _, text := range []string{"", "P", "PT", "1D", "P1", "P1H", "PT1D", "P1.5D", "P1D2Y", "P1D1D", "PT1.5H", "P99999999Y", "P-1D", "PT1.2.3S"} {
		if _, _, ok := parseDuration(text); ok {
			t.Errorf("%q is read", text)
		}
	}
	days, rest, _ := parseDuration("P8000Y")
	if _, ok := addDuration(base, days, rest); ok {
		t.Error("a year of five digits is a time")
	}
}

// A composite format is written as fmt would, whatever its widths are; and its size is
// charged before it is written.
func TestCompositeFormat(t *testing.T) {
	free := func(int) error { return nil }
	args := []string{"a", "bc", "😀"}
	write := func(at int, format string) (string, error) { return args[at] + format, nil }
	for format, want := range map[string]string{
		"": "", "{{}}": "{}", "{0}-{1}": "a-bc", "{0,4}|{1,-4}|": "   a|bc  |", "{1 , 3 :x}": "bcx", "{2,3}": " 😀", "{0:}": "a", "a}}b": "a}b", "{{{0}}}": "{a}", "{0,0}": "a",
	} {
		if got, err := formatComposite(format, len(args), free, write); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", format, got, err, want)
		}
	}
	for format, want := range map[string]error{
		"{3}": errCompositeIndex, "{": errComposite, "}": errComposite, "{0": errComposite, "{}": errComposite, "{x}": errComposite,
		"{0,}": errComposite, "{0,1000000}": errComposite, "{99999999999999999999}": errComposite, "{-1}": errComposite, "{0{1}}": errComposite,
	} {
		if got, err := formatComposite(format, len(args), free, write); !errors.Is(err, want) {
			t.Errorf("%q is %q (%v), want %v", format, got, err, want)
		}
	}
	charged := 0
	count := func(n int) error { charged += n; return nil }
	got, _ := formatComposite(strings.Repeat("{0,999}", 50), len(args), count, write)
	if charged < len(got) || len(got) != 50*999 {
		t.Errorf("%d bytes were charged as %d", len(got), charged)
	}
}

// Zeros fill up any integer as a precision does.
func TestZerosOfAllNumbers(t *testing.T) {
	same := func(n int64, zeros uint8) bool {
		byZeros, err := formatNumber(number{int: n}, strings.Repeat("0", 1+int(zeros)))
		byPrecision, wrong := formatNumber(number{int: n}, "D"+strconv.Itoa(1+int(zeros)))
		return err == nil && wrong == nil && byZeros == byPrecision
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// A custom format other than zeros is refused by its name, of which no more is quoted than
// a reader needs.
func TestUnsupportedNumberFormats(t *testing.T) {
	for _, format := range []string{"#,##0.00", "#,##0.00;(#,##0.00);none", "0.00", "0,0", "0%", "0.0E+0", "Ex", "'open", `\000`, "0 0", "N2.", "٠٠"} {
		for _, n := range []number{{int: -1234}, {isFloat: true, float: 0.5}} {
			text, err := formatNumber(n, format)
			if err == nil || !strings.Contains(err.Error(), "the number format '"+format+"' is not supported: use ") {
				t.Errorf("%v as %q is %q (%v)", n, format, text, err)
			}
		}
	}
	if _, err := formatNumber(number{int: 1}, strings.Repeat("#", 1<<20)); err == nil || len(err.Error()) > 300 {
		t.Errorf("%v", err)
	}
}

func FuzzFormats(f *testing.F) {
	f.Add("{0:N2} {1,10:0000} {0:yyyy}", int64(-1234), 0.5)
	f.Add("{0:E10}{1:#,##0.00}", int64(0), 1e300)
	f.Fuzz(func(t *testing.T, format string, n int64, x float64) {
		charged := 0
		numbers := []number{{int: n}, {isFloat: true, float: x}}
		text, err := formatComposite(format, 2, func(n int) error { charged += n; return nil }, func(at int, format string) (string, error) {
			return formatNumber(numbers[at], format)
		})
		if err == nil && len(text) > charged+len(format) {
			t.Errorf("%d bytes were charged as %d", len(text), charged)
		}
	})
}

func FuzzDates(f *testing.F) {
	f.Add("2020-04-07 14:53:14Z", "P1Y2M3DT4H5M6.5S", "dddd, dd MMMM yyyy HH:mm:ss.FFF")
	f.Add("20200407T145314Z", "-PT1S", "%d'x'K")
	f.Fuzz(func(t *testing.T, date, duration, format string) {
		base, ok := parseDate(date)
		days, rest, okay := parseDuration(duration)
		if !ok || !okay {
			return
		}
		sum, ok := addDuration(base, days, rest)
		if !ok {
			return
		}
		if text, err := formatDate(sum, format); err == nil && len(text) > 20*len(format)+64 {
			t.Errorf("%q became %d bytes", format, len(text))
		}
		if again, ok := parseDate(isoDate(sum)); !ok || !again.Equal(sum) {
			t.Errorf("%s is read as %s", isoDate(sum), again)
		}
	})
}
