#!lua flags=allow-oom
-- The same for keys that the instance gives up for good: it works also when the server's memory is full.
-- KEYS  meta things due parts ends look ids
-- ARGV  part lease file hard-ms window-s limit entries…
-- REPLY status second entries…
--@include ../lease/time.lua
--@include ../hold/living.lua
--@include ../hold/tally.lua
--@include marks.lua
--@include published.lua
