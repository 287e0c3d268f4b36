// Package e2e holds no code but tests: they run the programs as an operator does,
// from their command lines, and judge them by what they answer, print and keep.
// Killed and started again, the service must still know where each acknowledged
// resource lies, and so it must whatever its providers answer; the demonstration
// must work as it is printed; the check of a configuration must say what is wrong
// and where; a change of the configuration, and a restart behind a load balancer,
// must cost no client an answer; and no one must get past the front door without a
// token, or to the admin listener from a browser.
package e2e
