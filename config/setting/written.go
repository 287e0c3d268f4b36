package setting

import (
	"fmt"
	"strings"
	"time"
)

// formatValue formats a value as in a file. It returns "" for nil.
func formatValue(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Duration:
		return formatDuration(v)
	case int64:
		return Bytes(v)
	case float64: // a fraction
		return fmt.Sprintf("%.0f%%", 100*v)
	}
	return fmt.Sprint(v)
}

func formatDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Bytes formats a size as in a file.
func Bytes(n int64) string {
	for _, unit := range []struct {
		suffix string
		bytes  int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n > 0 && n%unit.bytes == 0 {
			return fmt.Sprint(n/unit.bytes) + unit.suffix
		}
	}
	return fmt.Sprint(n)
}
