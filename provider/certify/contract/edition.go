package contract

// Edition names the edition of the contract's texts that the cases hold providers to, by
// its year and month. It is raised when the texts demand something else than before: what
// keeps one edition may break the next. A new version of the suite that only tries more of
// the same texts leaves it as it is.
const Edition = "2026-11"
