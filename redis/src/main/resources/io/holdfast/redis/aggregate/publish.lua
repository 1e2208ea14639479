#!lua
-- Puts an instance's parts of aggregates: those that it holds, and those that it leaves to make room for others.
-- KEYS  meta things due parts ends look ids
-- ARGV  part lease file hard-ms window-s limit entries…
-- REPLY status second entries…
--@include ../lease/time.lua
--@include ../hold/living.lua
--@include ../hold/tally.lua
--@include marks.lua
--@include published.lua
