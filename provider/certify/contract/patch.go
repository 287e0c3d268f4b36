package contract

// Patched returns an object with a JSON merge-patch (RFC 7396) applied;
// neither argument changes.
func Patched(target, patch Object) Object {
	merged, _ := mergePatch(target, patch).(Object)
	return merged
}
