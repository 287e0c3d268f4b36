package contract

// Edition names the edition of the contract's texts that the cases check, by
// year and month. It is raised when the texts change their demands: a
// provider that keeps one edition may break the next. A new version of the
// suite that tries more of the same texts leaves it.
const Edition = "2026-11"
