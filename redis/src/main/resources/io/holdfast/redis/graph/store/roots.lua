-- One change of a root, and what the root is: its version and the id that it names.
local function root_change(call, roots, version, name, expected, target)
  local change = {name = name, expected = expected, version = version, target = target, is = call.dropped}
  local record = redis.call('HGET', roots, name)
  if record then
    change.is, change.old = string.match(record, '^(%S+) (%S+)')
  end
  return change
end

-- Writes the root. What it named before is to be given up.
local function write_root(call, roots, change, now, by)
  if change.target == '' then
    redis.call('HSET', call.meta, 'dropped', change.version)
    redis.call('HDEL', roots, change.name)
  else
    local record = {change.version, change.target, change.old or '-', string.format('%.0f', now), by}
    redis.call('HSET', roots, change.name, table.concat(record, ' '))
  end
end

local function give_up_old(work, change)
  if change.old then
    give_up_id(work, change.old, (change.target == '' and 'dropped ' or 'moved ') .. change.name)
  end
end
