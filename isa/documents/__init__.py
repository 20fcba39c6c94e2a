"""The tables as documents: text for the terminal, Markdown for docs/, JSON for tools, C for the firmware.

Read in this order: wording (facts as phrases), catalogue (what can be looked up), then one module per format.
"""
