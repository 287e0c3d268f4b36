package logs

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// every adds fields of all types with odd values.
type every struct{ text string }

func (f every) AddTo(to Fields) {
	to.AddString("text", f.text)
	to.AddString("", "")
	to.AddBool("yes", true)
	to.AddBool("no", false)
	to.AddInt("int", -1)
	to.AddInt64("int64", 1<<62)
	to.AddUint64("uint64", 1<<63)
	to.AddTime("time", time.Date(2024, 2, 29, 1, 2, 3, 450, time.FixedZone("", 3600)))
	to.AddTime("whole", time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC))
	for _, d := range []time.Duration{0, 1, 999_999_999, time.Second, 90 * time.Minute, -time.Millisecond, 1 << 62, exactTime, exactTime - 1} {
		to.AddDuration("d", d)
	}
}

// MarshalLogObject implements [zapcore.ObjectMarshaler].
func (f every) MarshalLogObject(e zapcore.ObjectEncoder) error {
	f.AddTo(e)
	return nil
}

// A line has the bytes that zap gives it.
func TestPlainLinesAreZaps(t *testing.T) {
	var all []byte
	for c := range 256 {
		all = append(all, byte(c), 'x')
	}
	var out bytes.Buffer
	standard := newCore(zapcore.AddSync(&out), zapcore.DebugLevel)
	encoder := standard.Core.(interface {
		With([]zapcore.Field) zapcore.Core
	}).With(nil) // has zap's
	for _, text := range []string{"", "plain", string(all), "ä€😀\u202e\u2028\xf0\x9f", `"`, "a\\", "\x7f\xff"} {
		for _, name := range []string{"", "access", `na"me`} {
			for _, level := range []zapcore.Level{zapcore.DebugLevel, zapcore.InfoLevel, zapcore.ErrorLevel} {
				entry := zapcore.Entry{Level: level, Time: time.Now(), LoggerName: name, Message: text}
				fields := []zap.Field{zap.Inline(every{text})}
				out.Reset()
				if err := standard.Core.Write(entry, fields); err != nil {
					t.Fatal(err)
				}
				got := out.String()
				out.Reset()
				if err := encoder.Write(entry, fields); err != nil {
					t.Fatal(err)
				}
				if want := out.String(); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		}
	}
}

// Fields that a logger carries are in its lines.
func TestPlainLinesOfALoggerWithFields(t *testing.T) {
	var out bytes.Buffer
	log, err := New("info", &out)
	if err != nil {
		t.Fatal(err)
	}
	log.With(zap.String("carried", "here")).Info("request", zap.Inline(every{"text"}))
	var l struct{ Carried, Text string }
	if unmarshal(t, out.String(), &l); l.Carried != "here" || l.Text != "text" {
		t.Errorf("%s", out.String())
	}
}

func TestSecondsAreTheShortestDecimal(t *testing.T) {
	for range 200_000 {
		d := time.Duration(rand.Uint64() >> (1 + rand.N(63)))
		if got, want := string(appendSeconds(nil, d)), strconv.FormatFloat(float64(d)/float64(time.Second), 'f', -1, 64); got != want {
			t.Fatalf("%d: %s, want %s", d, got, want)
		}
	}
}
