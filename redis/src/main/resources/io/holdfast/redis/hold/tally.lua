-- Notices that a script was cut in the middle of its writes. A power failure can tear the server's log inside a script;
-- a later restart then applies the first writes of that script alone.
--
-- A script with several writes raises field T of things by its first write (`raise`), and sets field U to the number
-- that this returned by its last. T is raised by a relative command, so a torn script leaves it ahead of U for good.
-- Every script that raises T compares the two first, and returns TORN if they differ. A script that leaves nothing wrong
-- wherever it is cut (acquire.lua, and those with a single write) leaves both numbers alone.
local TORN = 'TORN the log of the server was cut in the middle of a script; the shard is rebuilt, try again'
local function is_torn(raised, noted)
  return raised ~= noted
end
local function raise(things)
  return redis.call('HINCRBY', things, 'T', 1)
end
