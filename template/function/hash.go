package function

import (
	"crypto/sha1" // for version-5 UUIDs
	"encoding/binary"
	"math/bits"

	"github.com/google/uuid"
)

// guidNamespace is the namespace of the UUIDs that guid() returns.
var guidNamespace = uuid.MustParse("11fb06fb-712d-4ddd-98c7-e71bbd588830")

// nameGUID returns the version-5 UUID of a name.
func nameGUID(name string) string {
	return uuid.NewHash(sha1.New(), guidNamespace, []byte(name), 5).String()
}

// uniqueDigits encodes five bits per digit of uniqueString.
const uniqueDigits = "abcdefghijklmnopqrstuvwxyz234567"

// uniqueName returns the 13 digits of a name's hash, most significant first.
func uniqueName(name string) string {
	hash := murmur64([]byte(name))
	var digits [13]byte
	for i := range digits {
		digits[i] = uniqueDigits[hash>>59]
		hash <<= 5
	}
	return string(digits[:])
}

// murmur64 returns a hash by a variant of Murmur3 with seed 0. It differs from the published
// 128-bit form: it has two 32-bit lanes instead of four, and blocks of 8 bytes.
func murmur64(data []byte) uint64 {
	const c1, c2 = 0x239b961b, 0xab0e9789
	var h1, h2 uint32
	mix1 := func(k uint32) { h1 ^= bits.RotateLeft32(k*c1, 15) * c2 }
	mix2 := func(k uint32) { h2 ^= bits.RotateLeft32(k*c2, 17) * c1 }
	length := uint32(len(data))
	for ; len(data) >= 8; data = data[8:] {
		mix1(binary.LittleEndian.Uint32(data))
		h1 = (bits.RotateLeft32(h1, 19)+h2)*5 + 0x561ccd1b
		mix2(binary.LittleEndian.Uint32(data[4:]))
		h2 = (bits.RotateLeft32(h2, 13)+h1)*5 + 0x0bcaa747
	}
	if len(data) > 0 {
		var tail [8]byte
		copy(tail[:], data)
		mix1(binary.LittleEndian.Uint32(tail[:]))
		mix2(binary.LittleEndian.Uint32(tail[4:])) // no effect if the tail is empty
	}
	h1 ^= length
	h2 ^= length
	h1 += h2
	h2 += h1
	h1, h2 = avalanche(h1), avalanche(h2)
	h1 += h2
	h2 += h1
	return uint64(h2)<<32 | uint64(h1)
}

func avalanche(h uint32) uint32 {
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
