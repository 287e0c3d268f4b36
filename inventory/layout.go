package inventory

import (
	"embed"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// releasedForms prove of a database, for each migration that was changed before its
// release, that it got the released form. A database with another one is refused, for it
// lacks what no later migration adds. Released files do not change.
var releasedForms = map[int64]string{
	1:  `SELECT name FROM secrets WHERE 1 = 0`,
	6:  `SELECT job FROM request_batches WHERE 1 = 0`, // the number was another file's
	7:  `SELECT accepted FROM fences WHERE 1 = 0`,
	17: `SELECT feed FROM event_numbers WHERE 1 = 0`,
}

// Layout is the number of the last migration that this version knows.
func Layout() int64 {
	files, err := migrations.ReadDir("migrations")
	if err != nil || len(files) == 0 {
		return 0 // they are part of the program
	}
	number, _, _ := strings.Cut(files[len(files)-1].Name(), "_")
	n, _ := strconv.ParseInt(number, 10, 64) // as goose reads it
	return n
}
