#!lua
-- Makes a lease a holder of things, opening those that are not open.
-- KEYS  things due
-- ARGV  sequence file lease things…
-- REPLY status before records…
--@include ../lease/time.lua
--@include living.lua
local OPENS = true
--@include acquired.lua
