// Package evidence writes what suites have measured: where and with which versions, tables,
// and the least, the median and the greatest of figures. A suite writes its whole report into
// the README in its folder, and what operators decide by into docs/evidence.md. Each place on
// a page is bounded by two comments that name the command.
package evidence
