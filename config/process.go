package config

import (
	"portico/config/rule"
	"portico/config/setting"
)

// Process is what the gateway's process takes of its machine.
type Process struct {
	Garbage     int64   // bytes
	MemoryShare float64 // above 0 and up to 1
}

func (p *Process) rows() *setting.Setting {
	return setting.Mapping("process", "What the gateway's process takes of its machine. How many processors it uses follows from the bound of its container.",
		setting.Value("garbage", &p.Garbage, rule.Size(), 64<<20,
			"How much memory that is no longer needed may lie about before it is collected, up to four times what is needed; where more than this is needed, as much as is. "+
				"More costs less processor time. What a burst took is given back to the system once there is hardly anything to do for eight seconds. `GOGC` in the environment wins over both.").RestartOnly(),
		setting.Value("memoryShare", &p.MemoryShare, rule.PositivePercentage(), 0.9,
			"The part of the memory of the gateway's container beyond which it collects as often as it has to, to stay below. `GOMEMLIMIT` in the environment wins.").RestartOnly(),
	)
}
