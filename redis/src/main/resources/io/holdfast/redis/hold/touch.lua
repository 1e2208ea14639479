#!lua
-- Lets things live for an idle time from now, without holders, opening those that are not open.
-- KEYS  things due
-- ARGV  sequence idle-ms lease things…
-- REPLY status before records…
--@include ../lease/time.lua
--@include tally.lua
local OPENS = true
--@include touched.lua
