// The call by which CDK's function suspends a process: the emulator has no Auto Scaling group behind a node group.
"use strict";

class SuspendProcessesCommand {
  constructor(input) {
    this.input = input;
  }
}

class AutoScalingClient {
  constructor() {
    this.config = { apiVersion: "2011-01-01", region: async () => process.env.AWS_REGION };
  }

  async send(command) {
    const { AutoScalingGroupName: name, ScalingProcesses: processes } = command.input;
    if (!/^eks-.+/.test(name) || processes.join() !== "AZRebalance") throw new Error(`no such group: ${name}`);
    return {};
  }
}

module.exports = { AutoScalingClient, SuspendProcessesCommand };
